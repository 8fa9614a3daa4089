package main

import "github.com/spf13/cobra"

func newDoctorCommand(c console) *cobra.Command { return &cobra.Command{Use: "doctor"} }

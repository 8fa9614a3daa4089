package main

import "github.com/spf13/cobra"

func newSelftestCommand(c console) *cobra.Command { return &cobra.Command{Use: "selftest"} }
func newWorkloadCommand(c console) *cobra.Command {
	return &cobra.Command{Use: "workload", Hidden: true}
}

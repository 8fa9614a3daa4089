// Package report prints a session's results: one printer for each format, and the JSON and CSV for programs. It decides
// nothing and computes no figure: package model has the results, which package attribution computes.
package report

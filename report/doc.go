// Package report prints a session's results: one printer a format, and the JSON and CSV for programs. It decides
// nothing and computes no figure: package model has the results, which attribution makes.
package report

// Package report shows what a session found: one printer a format, and the JSON and CSV that programs read. It decides nothing and computes no figure:
// what is shown is in package model, which attribution makes.
package report

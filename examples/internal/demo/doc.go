// Package demo is what the example programs have in common and what a program that uses
// Redlatch does not need: a Redis of their own, lines with the time before them, child
// processes. What is worth copying is in the examples themselves.
package demo

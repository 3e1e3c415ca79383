// Package redisson holds the proof that Redlatch and Redisson share their locks: a
// Java program that uses Redisson as it is told on its standard input (src), and Go
// tests that run it beside Redlatch on one Redis. The tests need a JDK 17 and Maven;
// `make interop` builds the program and runs them.
package redisson

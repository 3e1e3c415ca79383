// Package docs has tests that keep the documents true: the Go code in them
// compiles, the options and errors of the code are in them, their links lead
// somewhere, and the permissions they ask for are the ones that are needed.
// Nothing is exported for another package of ours alone.
package docs

// Package mutants shows that the tests are not blind. A mutant is Redlatch with one
// deliberate mistake, of the kind that locks really have had, and the tests that must
// fail because of it. `make mutants` runs them all.
//
// Each file in testdata is one mutant:
//
//	what is wrong, and what would come of it
//
//	test ./package TestName TestOther
//
//	file path/from/the/root
//	--- old
//	text that is there exactly once
//	--- new
//	text that takes its place
//
// There may be several files, and several replacements in one. All named tests must fail
// with the mutant and pass without it. They are to be few, quick, and certain to fail:
// not those that need luck.
//
// The mistakes are not in the library, not even behind a build tag: the mutated files are
// written to a temporary directory and put over the real ones with `go test -overlay`,
// which also covers the embedded scripts. If the text to replace is not there exactly
// once any more the mutant is out of date, which a test without the tag tells at once.
package mutants

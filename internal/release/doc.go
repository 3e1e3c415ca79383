// Command release makes a version of what the repository publishes: the main module, and the nested modules that programs
// import or install.
//
//	go run -C internal/release . -version v0.9.0
//
// While people work on the repository, the nested modules find the main one by a replace, at no version. A consumer ignores
// the replace, `go install` refuses it, and neither finds a module without a version. So a version is a commit in which
// their go.mod files require that version and replace nothing. The command writes these files into the work tree, and prints
// the tags that the commit needs: Go finds the version of a nested module by a tag that begins with its directory.
//
// The tests publish such a version in a directory, which Go takes for a module proxy, and use it from outside the repository.
package main

//go:build unix

// Package compare measures two versions of Redlatch against each other.
package compare

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	library = "github.com/redlatch/redlatch"
	worker  = "./worker" // the program that is built, in the module of the benchmarks
)

// version is one version of Redlatch, built into a program.
type version struct {
	name    string
	program string
}

// build builds the program with the library of a commit, or without one with that of the
// working tree. All that it makes is in dir.
func build(ctx context.Context, module, commit, dir string) (v version, err error) {
	root := filepath.Dir(module)
	v = version{name: "working tree", program: filepath.Join(dir, "worker")}
	if commit != "" {
		if v.name, err = command(ctx, root, "git", "log", "-1", "--format=%h %s", commit, "--"); err != nil {
			return v, err
		}
		if root, err = export(ctx, root, commit, dir); err != nil {
			return v, err
		}
	}
	mod := filepath.Join(dir, "go.mod") // go.sum belongs beside it
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(module, name))
		if err != nil {
			return v, err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return v, err
		}
	}
	if _, err := command(ctx, dir, "go", "mod", "edit", "-replace", library+"="+root, mod); err != nil {
		return v, err
	}
	_, err = command(ctx, module, "go", "build", "-modfile", mod, "-mod=mod", "-buildvcs=false", "-ldflags=-s -w", "-o", v.program, worker)
	return v, err
}

// export writes the files of a commit, without a trace in the repository.
func export(ctx context.Context, root, commit, dir string) (string, error) {
	tree, archive := filepath.Join(dir, "tree"), filepath.Join(dir, "tree.tar")
	if err := os.Mkdir(tree, 0o755); err != nil {
		return "", err
	}
	if _, err := command(ctx, root, "git", "archive", "--format=tar", "--output="+archive, commit); err != nil {
		return "", err
	}
	_, err := command(ctx, tree, "tar", "-xf", archive)
	return tree, err
}

// command runs a program in a directory; its error has what the program said.
func command(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out)), nil
}

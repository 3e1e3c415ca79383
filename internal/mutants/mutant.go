package mutants

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is one file of testdata.
type mutant struct {
	name    string
	about   string
	pkg     string   // whose tests are run
	tests   []string // that must fail
	changes []change
}

// change is one replacement.
type change struct {
	file     string // from the module's root, with slashes
	old, new string
}

// load reads all mutants, by name.
func load(dir string) ([]mutant, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.mutant"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no mutants in %s", dir)
	}
	mutants := make([]mutant, 0, len(paths))
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		m, err := parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		m.name = strings.TrimSuffix(filepath.Base(path), ".mutant")
		mutants = append(mutants, m)
	}
	return mutants, nil
}

// choose returns the mutants of those names.
func choose(mutants []mutant, names []string) (chosen []mutant, err error) {
	for _, name := range names {
		i := slices.IndexFunc(mutants, func(m mutant) bool { return m.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no mutant %q", name)
		}
		chosen = append(chosen, mutants[i])
	}
	return chosen, nil
}

// parse reads one mutant.
func parse(text string) (m mutant, err error) {
	const (
		head = iota
		before
		after
	)
	part, file := head, ""
	var about []string
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case line == "--- old\n":
			part = before
			m.changes = append(m.changes, change{file: file})
		case line == "--- new\n" && part == before:
			part = after
		case part != before && word == "file":
			part, file = head, rest
		case part == before:
			m.changes[len(m.changes)-1].old += line
		case part == after:
			m.changes[len(m.changes)-1].new += line
		case word == "test":
			names := strings.Fields(rest)
			if len(names) > 0 {
				m.pkg, m.tests = names[0], names[1:]
			}
		case word != "":
			about = append(about, strings.TrimSpace(line))
		}
	}
	m.about = strings.Join(about, " ")
	for i := range m.changes {
		c := &m.changes[i]
		c.old, c.new = strings.TrimSuffix(c.old, "\n"), strings.TrimRight(c.new, "\n")
		if c.file == "" || c.old == "" || c.old == c.new {
			return m, errors.New("a replacement without a file, or that replaces nothing")
		}
	}
	if m.about == "" || len(m.tests) == 0 || len(m.changes) == 0 || part == before {
		return m, errors.New("not complete: wanted are a description, a test line, a file and its replacements")
	}
	return m, nil
}

// files are those that the mutant changes.
func (m mutant) files() (files []string) {
	for _, c := range m.changes {
		if !slices.Contains(files, c.file) {
			files = append(files, c.file)
		}
	}
	return files
}

// mutate returns one of the files below root with the mistakes in it.
func (m mutant) mutate(root, file string) (string, error) {
	source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		return "", err
	}
	text := string(source)
	for _, c := range m.changes {
		if c.file != file {
			continue
		}
		if n := strings.Count(text, c.old); n != 1 {
			return "", fmt.Errorf("mutant %s is out of date: %s has %d times, not once:\n%s", m.name, file, n, c.old)
		}
		text = strings.Replace(text, c.old, c.new, 1)
	}
	return text, nil
}

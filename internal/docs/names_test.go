package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNames looks in the documents of options and of errors for every one of the code, and in the code for every one that
// these documents and the README have.
func TestNames(t *testing.T) {
	listed := read(t, "docs/options.md") + read(t, "docs/errors.md")
	declared := make(map[string]bool)
	var files []string
	for _, dir := range []string{"reentrant", "multilock"} {
		found, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range declarations(tree) {
			declared[name] = true
		}
	}
	interesting := regexp.MustCompile(`\b(With[A-Z]\w*|Err[A-Z]\w*|[A-Z]\w*Error)\b`)
	for name := range declared {
		if interesting.MatchString(name) && !regexp.MustCompile(`\b`+name+`\b`).MatchString(listed) {
			t.Errorf("neither docs/options.md nor docs/errors.md mentions %s", name)
		}
	}
	for _, name := range interesting.FindAllString(listed+read(t, "README.md"), -1) {
		if !declared[name] {
			t.Errorf("%s is mentioned, and neither reentrant nor multilock has it", name)
		}
	}
}

// declarations are the names a file declares at its top level, without methods.
func declarations(file *ast.File) (names []string) {
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil {
				names = append(names, decl.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, spec.Name.Name)
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						names = append(names, name.Name)
					}
				}
			}
		}
	}
	return names
}

// TestLinks follows the links from the documents to files of the project.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#: ]+)(#[^)]*)?\)`)
	for _, doc := range documents(t) {
		for _, found := range link.FindAllStringSubmatch(read(t, doc), -1) {
			target := filepath.Join(root, filepath.Dir(doc), found[1])
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", doc, found[1], err)
			}
		}
	}
}

package docs

import (
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// ports are the exported names that are there for another package of ours on purpose. A program can do
// nothing with them: their types are those of an internal package.
var ports = map[string]string{
	"reentrant.Lock.Member": "the way of a MultiLock to a member",
}

// forUsers are the documents that tell users what there is.
var forUsers = []string{
	"README.md", "SECURITY.md", "docs/deploying.md", "docs/errors.md", "docs/faq.md", "docs/getting-started.md", "docs/guarantees.md", "docs/losing.md",
	"docs/multilock.md", "docs/operations.md", "docs/options.md", "docs/owners.md", "docs/redisson.md", "docs/timeouts.md",
}

// TestExportedNamesAreForPrograms looks at each exported name of reentrant and multilock that another
// package of ours uses. Users have to be shown it too: by a program in examples/, by an Example, by Go code
// in a document, or by its name in one. Otherwise it is there for that package alone, and all users have to
// read past it. A type is shown by each function, field and value that is of it.
func TestExportedNamesAreForPrograms(t *testing.T) {
	m := loadModule(t)
	for _, b := range blocks(t) {
		m.showBlock(b)
	}
	names := make(map[types.Object]string)
	for _, pkg := range []string{"reentrant", "multilock"} {
		maps.Copy(names, exportedNames(m.ours[module+"/"+pkg]))
	}
	mentions := codeSpans(t)
	for object, name := range names {
		if mentioned(name, mentions) {
			m.shown[object] = true
		}
	}
	for object := range names {
		if _, declared := object.(*types.TypeName); !declared && m.shown[object] {
			m.showTypes(object.Type())
		}
	}
	left := maps.Clone(ports)
	for object, name := range names {
		if len(m.usedBy[object]) == 0 || m.shown[object] {
			continue
		}
		if _, port := left[name]; !port {
			t.Errorf("%s is used by %s alone: no example and no document shows it",
				name, strings.Join(slices.Sorted(maps.Keys(m.usedBy[object])), ", "))
		}
		delete(left, name)
	}
	for name := range left {
		t.Errorf("%s is no exception any more: remove it from ports", name)
	}
}

// codeSpans are what the documents for users write between backticks within a line.
func codeSpans(t *testing.T) (spans []string) {
	t.Helper()
	span := regexp.MustCompile("`([^`\n]+)`")
	for _, doc := range forUsers {
		for _, found := range span.FindAllStringSubmatch(read(t, doc), -1) {
			spans = append(spans, found[1])
		}
	}
	return spans
}

// mentioned looks for a name like reentrant.ErrLost or reentrant.Hold.Lost. That of a method or a field
// has to begin the span or to follow a dot: such names are ordinary words.
func mentioned(name string, spans []string) bool {
	parts := strings.Split(name, ".")
	pattern := `\b` + parts[len(parts)-1] + `\b`
	if len(parts) > 2 {
		pattern = `(^|\.)` + parts[len(parts)-1] + `\b`
	}
	return slices.ContainsFunc(spans, regexp.MustCompile(pattern).MatchString)
}

// exportedNames are what a package exports: what it declares, and the methods and fields of its types.
func exportedNames(pkg *types.Package) map[types.Object]string {
	found := make(map[types.Object]string)
	add := func(object types.Object, name string) {
		if object.Exported() {
			found[object] = name
		}
	}
	for _, name := range pkg.Scope().Names() {
		object := pkg.Scope().Lookup(name)
		name = pkg.Name() + "." + name
		add(object, name)
		declared, ok := object.(*types.TypeName)
		if !ok || !object.Exported() {
			continue
		}
		if named, ok := declared.Type().(*types.Named); ok {
			for method := range named.Methods() {
				add(method, name+"."+method.Name())
			}
		}
		switch under := declared.Type().Underlying().(type) {
		case *types.Struct:
			for field := range under.Fields() {
				add(field, name+"."+field.Name())
			}
		case *types.Interface:
			for method := range under.ExplicitMethods() {
				add(method, name+"."+method.Name())
			}
		}
	}
	return found
}

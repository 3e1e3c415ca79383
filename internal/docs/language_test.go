package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

const (
	readmeWords   = 1300 // code and tables included
	sentenceWords = 30
)

// plain are the documents that are read once, from the beginning to the end, and the front page. The sentences of the others may be
// longer: who looks something up there reads it twice.
var plain = []string{
	"README.md", "docs/comparison.md", "docs/connecting.md", "docs/deploying.md", "docs/errors.md", "docs/examples.md", "docs/faq.md",
	"docs/getting-started.md", "docs/losing.md", "docs/options.md", "docs/owners.md", "docs/timeouts.md",
}

// packages are those that programs import.
var packages = []string{"httpguard", "leader", "multilock", "redlatchtest", "redlatchui", "reentrant"}

// homes are the figures of promises, each with the only document that has it. Others have a link.
var homes = map[string]string{
	`(within|for|is) 500 ms`:         "docs/guarantees.md", // an attempt without a wait
	`16 times in a row|16 hand-offs`: "docs/guarantees.md",
	`drift by less than 1 %`:         "docs/guarantees.md",
	`1024 owners`:                    "docs/guarantees.md", // whose losses are remembered
	`\b32 s\b`:                       "docs/multilock.md",  // a restarted server is not counted
	`p99 of the wait there`:          "docs/comparison.md",
}

// everywhere are documents that tell of figures for another reason: how they came to be, and what was measured.
var everywhere = []string{"CHANGELOG.md", "docs/benchmarks.md", "docs/decisions.md", "docs/tested.md", "docs/protocol.md"}

// storied are documents of why things came to be as they are. Nobody needs them to use a lock.
var storied = []string{"CHANGELOG.md", "docs/decisions.md", "docs/why.md"}

// TestReadmeIsShort counts what a reader of the front page has to read.
func TestReadmeIsShort(t *testing.T) {
	if n := len(strings.Fields(read(t, "README.md"))); n > readmeWords {
		t.Errorf("README.md has %d words, and may have %d", n, readmeWords)
	}
}

// TestSentences looks for long sentences in the plain documents, and in the comments of exported names.
func TestSentences(t *testing.T) {
	for _, doc := range plain {
		for _, sentence := range sentences(prose(read(t, doc))) {
			tooLong(t, doc, sentence)
		}
	}
	comments := make(map[string]string)
	for _, dir := range packages {
		maps.Copy(comments, godoc(t, dir))
	}
	if len(comments) < 300 {
		t.Fatalf("only %d comments: the test looks in the wrong place", len(comments))
	}
	for _, name := range slices.Sorted(maps.Keys(comments)) {
		for _, sentence := range sentences(comments[name]) {
			tooLong(t, name, sentence)
		}
	}
}

// unclear are words that leave open who acts, or what is meant.
var unclear = regexp.MustCompile(`(?i)\b(whoever|by when|that of)\b`)

// TestWords looks for such words in the documents and in the comments of exported names.
func TestWords(t *testing.T) {
	for _, doc := range documents(t) {
		if found := unclear.FindString(prose(read(t, doc))); found != "" && !slices.Contains(storied, doc) {
			t.Errorf("%s: %q", doc, found)
		}
	}
	for _, dir := range packages {
		for name, comment := range godoc(t, dir) {
			if found := unclear.FindString(comment); found != "" {
				t.Errorf("%s: %q", name, found)
			}
		}
	}
}

func tooLong(t *testing.T, where, sentence string) {
	t.Helper()
	if n := words(sentence); n > sentenceWords {
		t.Errorf("%s: %d words: %s", where, n, sentence)
	}
}

// TestFiguresHaveOneHome looks for figures of promises outside their homes.
func TestFiguresHaveOneHome(t *testing.T) {
	for pattern, home := range homes {
		figure := regexp.MustCompile(pattern)
		for _, doc := range documents(t) {
			has := figure.MatchString(oneLine(read(t, doc)))
			switch {
			case doc == home && !has:
				t.Errorf("%s does not have %q, and is its home", doc, pattern)
			case doc != home && has && !slices.Contains(everywhere, doc):
				t.Errorf("%s has %q, whose home is %s", doc, pattern, home)
			}
		}
	}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

var (
	fenced    = regexp.MustCompile("(?ms)^```.*?^```$")
	tag       = regexp.MustCompile(`(?s)<[^>]*>`)
	linked    = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	newItem   = regexp.MustCompile(`(?m)^(\s*(-|\d+\.)\s|#+ |\|)`)
	endOfLine = regexp.MustCompile(`[.!?]["')*]*\s|\n\n|\|`)
)

// prose is the text of a document without its code. A link is its text; a cell, an item of a list and a heading are paragraphs.
func prose(text string) string {
	text = fenced.ReplaceAllString(text, "\n\n")
	text = regexp.MustCompile(`(?m)^    .*$`).ReplaceAllString(text, "\n")
	text = tag.ReplaceAllString(text, "")
	for linked.MatchString(text) { // a picture may be in a link
		text = linked.ReplaceAllString(text, "$1")
	}
	return newItem.ReplaceAllString(text, "\n\n")
}

// sentences are those of a text, each in one line.
func sentences(text string) (found []string) {
	for _, part := range endOfLine.Split(text, -1) {
		if part = oneLine(part); part != "" {
			found = append(found, part)
		}
	}
	return found
}

// words counts what has a letter or a digit.
func words(sentence string) (n int) {
	for _, word := range strings.Fields(sentence) {
		if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			n++
		}
	}
	return n
}

// godoc are the comments that users read of a package: its own, and those of exported names, methods and fields.
func godoc(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatal(dir, err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		note := func(name string, groups ...*ast.CommentGroup) {
			for _, group := range groups {
				if text := commentProse(group.Text()); text != "" {
					found[dir+"."+name] += text + "\n\n"
				}
			}
		}
		note("package", tree.Doc)
		for _, decl := range tree.Decls {
			exportedComments(decl, note)
		}
	}
	return found
}

// commentProse is a comment without its code, the lines that are indented and no items of a list.
func commentProse(comment string) string {
	var text strings.Builder
	for line := range strings.Lines(comment) {
		trimmed := strings.TrimLeft(line, " \t")
		switch {
		case newItem.MatchString(line):
			text.WriteString("\n\n" + trimmed)
		case trimmed == line || strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "\t"): // the rest of an item
			text.WriteString(line)
		default:
			text.WriteString("\n\n")
		}
	}
	return newItem.ReplaceAllString(strings.TrimSpace(text.String()), "\n\n")
}

func exportedComments(decl ast.Decl, note func(name string, groups ...*ast.CommentGroup)) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Name.IsExported() && (decl.Recv == nil || ast.IsExported(receiver(decl))) {
			note(decl.Name.Name, decl.Doc)
		}
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				if spec.Names[0].IsExported() {
					note(spec.Names[0].Name, decl.Doc, spec.Doc, spec.Comment)
				}
			case *ast.TypeSpec:
				if spec.Name.IsExported() {
					note(spec.Name.Name, decl.Doc, spec.Doc, spec.Comment)
					exportedFields(spec, note)
				}
			}
		}
	}
}

func receiver(decl *ast.FuncDecl) string {
	of := decl.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if name, ok := of.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}

func exportedFields(spec *ast.TypeSpec, note func(name string, groups ...*ast.CommentGroup)) {
	ast.Inspect(spec.Type, func(n ast.Node) bool {
		if field, ok := n.(*ast.Field); ok && len(field.Names) > 0 && field.Names[0].IsExported() {
			note(spec.Name.Name+"."+field.Names[0].Name, field.Doc, field.Comment)
		}
		return true
	})
}

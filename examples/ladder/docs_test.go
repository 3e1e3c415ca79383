package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const docs = "../../docs"

// checkPicture compares the picture in docs with one of what has just happened: but for
// the times they are the same.
func checkPicture(t *testing.T, r rung, played []*recording) {
	t.Helper()
	kept, err := os.ReadFile(filepath.Join(docs, "why", r.picture()))
	if err != nil {
		t.Error(err)
		return
	}
	fresh := draw(r, played)
	for _, picture := range [][]byte{kept, fresh} {
		if len(picture) > 15<<10 {
			t.Errorf("%s has %d bytes", r.picture(), len(picture))
		}
		if !strings.Contains(string(picture), "prefers-color-scheme:dark") || strings.Contains(string(picture), "href") {
			t.Errorf("%s has no colours for the dark, or leads elsewhere", r.picture())
		}
	}
	old, now := bones(t, kept), bones(t, fresh)
	for i := range max(len(old), len(now)) {
		if i >= len(old) || i >= len(now) || old[i] != now[i] {
			t.Errorf("docs/why/%s shows something else than what happened: make why draws it again.\nThere:\n%s\nNow:\n%s",
				r.picture(), strings.Join(old[min(i, len(old)):], "\n"), strings.Join(now[min(i, len(now)):], "\n"))
			return
		}
	}
}

var figure = regexp.MustCompile(`\d+(\.\d+)?`)

// bones are what a picture tells, without times and other figures: titles, code, lanes,
// who was inside, two at once, the events of each actor, verdicts. How a long line is
// broken, which names of events found room, and the key's curves are not told.
func bones(t *testing.T, picture []byte) (all []string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(string(picture)))
	var open []xml.StartElement
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			open = append(open, token)
			if class := attr(token, "class"); token.Name.Local == "rect" && (class == "in" || class == "two" || class == "for") {
				all = append(all, class)
			}
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) == 0 || strings.TrimSpace(string(token)) == "" {
				continue
			}
			text, at := figure.ReplaceAllString(string(token), "#"), open[len(open)-1]
			switch class := attr(at, "class"); {
			case at.Name.Local == "style" || class == "l" || class == "a":
			case (class == "good" || class == "bad") && strings.HasPrefix(all[len(all)-1], class):
				all[len(all)-1] += " " + text
			default:
				all = append(all, strings.TrimSpace(class+" "+text))
			}
		}
	}
}

func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// TestStory looks in docs/why.md for each rung's title, code and picture, in their
// order, and in docs/why for pictures that nobody draws.
func TestStory(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(docs, "why.md"))
	if err != nil {
		t.Fatal(err)
	}
	rest := string(text)
	drawn := map[string]bool{}
	for _, r := range ladder {
		drawn[r.picture()] = true
		parts := []string{fmt.Sprintf("\n## %d. %s\n", r.number, r.title)}
		for _, a := range r.acts {
			if a.who == homeMade && r.number < 7 {
				parts = append(parts, a.code...)
			}
		}
		parts = append(parts, "](why/"+r.picture()+")")
		for _, part := range parts {
			_, after, found := strings.Cut(rest, part)
			if !found {
				t.Fatalf("docs/why.md has no %q where it belongs", part)
			}
			rest = after
		}
		section, _, _ := strings.Cut(rest, "\n## ")
		for _, want := range []string{
			`\*\*Who met it\.\*\*`, `\]\(https://`, `\d{4}-\d{2}-\d{2}`, `\*\*Redlatch\*\*`, `\*\*Cost\.\*\*`, `\*\*Not solved\.\*\*`,
		} {
			if !regexp.MustCompile(want).MatchString(section) {
				t.Errorf("docs/why.md, rung %d: no %s", r.number, want)
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(docs, "why", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !drawn[filepath.Base(file)] {
			t.Errorf("nobody draws %s", file)
		}
	}
}

package reentrant_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/redlatch/redlatch/reentrant"
)

// words puts names in the place of what differs from run to run.
type words struct {
	mu     sync.Mutex
	names  map[string]string // of a Client's ID, and of an owner's field
	tokens []int64           // in the order in which they were first seen
}

func (w *words) add(id, name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.names[id] = name
}

var (
	uuid     = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(:\d+\b)?`)
	readers  = regexp.MustCompile(`([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}):=reader:(\d+)`)
	released = regexp.MustCompile(`:=released:\d+`)
	inTexts  = regexp.MustCompile(`(goroutine|owner) (?:\d+|"released:\d+") (of this|reads it)`)
	// miniredis puts its own words around an error of a script's command.
	script = regexp.MustCompile(`(?s)ERR Error compiling script .*: (WRONGTYPE .* value).*`)
)

// plain replaces the IDs of Clients and the fields of owners.
func (w *words) plain(s string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	s = readers.ReplaceAllString(s, "$1:$2")
	s = uuid.ReplaceAllStringFunc(s, func(id string) string {
		if name := w.names[id]; name != "" {
			return name
		}
		client, rest, _ := strings.Cut(id, ":")
		if rest != "" {
			rest = ":?" // a goroutine that is nobody's
		}
		return w.names[client] + rest
	})
	s = released.ReplaceAllString(s, ":nobody")
	s = inTexts.ReplaceAllString(s, "$1 $2")
	return script.ReplaceAllString(s, "$1")
}

// token numbers fencing tokens by their first appearance, and says if one does not rise.
func (w *words) token(token int64) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, known := range w.tokens {
		if known == token {
			return fmt.Sprint("#", i+1)
		}
	}
	fell := len(w.tokens) > 0 && w.tokens[len(w.tokens)-1] > token
	w.tokens = append(w.tokens, token)
	if fell {
		return fmt.Sprint("#", len(w.tokens), ", which is less than the one before")
	}
	return fmt.Sprint("#", len(w.tokens))
}

// results are those of a call.
func (w *words) results(results []any) string {
	var texts []string
	for _, r := range results {
		switch r := r.(type) {
		case nil:
			texts = append(texts, "nil")
		case error:
			texts = append(texts, w.error(r))
		default:
			texts = append(texts, w.plain(fmt.Sprint(r)))
		}
	}
	return strings.Join(texts, ", ")
}

// error is the text of an error, and what it is for errors.Is.
func (w *words) error(err error) string {
	var is []string
	for _, known := range []struct {
		err  error
		name string
	}{
		{reentrant.ErrNotHeld, "ErrNotHeld"}, {reentrant.ErrLost, "ErrLost"}, {reentrant.ErrNotAcquired, "ErrNotAcquired"},
		{reentrant.ErrBusy, "ErrBusy"}, {reentrant.ErrUnconfirmed, "ErrUnconfirmed"}, {reentrant.ErrReplicas, "ErrReplicas"},
		{reentrant.ErrForeignKey, "ErrForeignKey"}, {reentrant.ErrClosed, "ErrClosed"}, {reentrant.ErrReleased, "ErrReleased"},
		{reentrant.ErrRenewed, "ErrRenewed"}, {reentrant.ErrNotExtended, "ErrNotExtended"}, {reentrant.ErrNested, "ErrNested"},
		{context.Canceled, "Canceled"}, {context.DeadlineExceeded, "DeadlineExceeded"},
	} {
		if errors.Is(err, known.err) {
			is = append(is, known.name)
		}
	}
	return fmt.Sprintf("`%s` %v", strings.ReplaceAll(w.plain(err.Error()), "\n", "; "), is)
}

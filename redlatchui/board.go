package redlatchui

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redlatch/redlatch/internal/view"
	"github.com/redlatch/redlatch/reentrant"
)

const (
	every      = time.Second
	maxRows    = 200 // that a page shows
	maxChanges = 100 // of one lock
	maxSeen    = 1000
)

// board is what all pages show.
type board struct {
	client *reentrant.Client

	mu       sync.Mutex
	pages    map[chan []byte]bool // capacity 1 each: the last word
	last     []byte               // the last word, as JSON; nil before the first
	changes  map[string][]change  // by the lock's name, the last ones
	before   map[string]string    // the state of each lock as it was seen last
	searched map[string]bool      // names that a page has searched for
	stop     context.CancelFunc   // ends the goroutine; nil without one
	ended    chan struct{}        // closed when it has ended
}

// change is one change of a lock.
type change struct {
	At     time.Time `json:"at"`
	State  string    `json:"state"`
	Holder string    `json:"holder,omitempty"`
	Queue  int       `json:"queue"`
}

// word is what pages are told.
type word struct {
	At      time.Time                `json:"at"`
	Error   string                   `json:"error,omitempty"`
	Rows    []view.Row               `json:"rows"`
	More    int                      `json:"more,omitempty"` // locks beyond those that are shown
	Clients []reentrant.ClientReport `json:"clients,omitempty"`
}

func newBoard(client *reentrant.Client) *board {
	return &board{client: client, pages: make(map[chan []byte]bool), changes: make(map[string][]change), before: make(map[string]string), searched: make(map[string]bool)}
}

// open adds a page, and begins to ask Redis for the first one.
func (b *board) open() chan []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	page := make(chan []byte, 1)
	b.pages[page] = true
	if b.last != nil {
		page <- b.last
	}
	if b.stop == nil {
		ctx, stop := context.WithCancel(context.Background()) // ends with the last page
		b.stop, b.ended = stop, make(chan struct{})
		go b.run(ctx, b.ended)
	}
	return page
}

// close removes a page. The last one ends the goroutine, waits for it, and forgets what was searched for.
func (b *board) close(page chan []byte) {
	b.mu.Lock()
	delete(b.pages, page)
	if len(b.pages) > 0 || b.stop == nil {
		b.mu.Unlock()
		return
	}
	stop, ended := b.stop, b.ended
	b.stop, b.last, b.searched = nil, nil, make(map[string]bool)
	b.mu.Unlock()
	stop()
	<-ended
}

func (b *board) run(ctx context.Context, ended chan struct{}) {
	defer close(ended)
	for ctx.Err() == nil {
		began := time.Now()
		limited, cancel := context.WithTimeout(ctx, asking)
		w := b.ask(limited)
		cancel()
		if ctx.Err() == nil {
			b.tell(w)
		}
		timer := time.NewTimer(max(every/4, every-time.Since(began))) // a slow Redis is asked less
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// ask asks Redis for all that is shown.
func (b *board) ask(ctx context.Context) (w word) {
	w.At = time.Now()
	names, err := b.client.Contended(ctx)
	if err != nil {
		w.Error = err.Error()
		return w
	}
	since, clients := view.GrantsOf(ctx, b.client)
	w.Clients = clients
	for _, c := range clients {
		for _, h := range c.Oldest {
			names = append(names, h.Name)
		}
	}
	names = distinct(append(names, b.namesSearched()...)) // what is waited for comes first
	w.More = max(0, len(names)-maxRows)
	names = names[:len(names)-w.More]
	rows, err := view.Look(ctx, b.client, names, since)
	if err != nil {
		w.Error = err.Error()
	}
	w.Rows = slices.DeleteFunc(rows, func(r view.Row) bool { return r.State == "free" && r.Queue() == 0 })
	slices.SortStableFunc(w.Rows, func(a, b view.Row) int { return b.Queue() - a.Queue() })
	b.note(w.At, rows)
	return w
}

// distinct leaves out what has come before.
func distinct(names []string) []string {
	seen := make(map[string]bool)
	return slices.DeleteFunc(names, func(name string) bool {
		known := seen[name]
		seen[name] = true
		return known
	})
}

func (b *board) namesSearched() (names []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name := range b.searched {
		names = append(names, name)
	}
	return names
}

// note notes what has changed.
func (b *board) note(at time.Time, rows []view.Row) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.before) > maxSeen {
		b.before, b.changes = make(map[string]string), make(map[string][]change)
	}
	for i := range rows {
		r := &rows[i]
		now := fmt.Sprint(r.State, r.Field, r.Queue())
		if b.before[r.Name] == now {
			continue
		}
		b.before[r.Name] = now
		all := append(b.changes[r.Name], change{At: at, State: r.State, Holder: r.Holder, Queue: r.Queue()})
		b.changes[r.Name] = all[max(0, len(all)-maxChanges):]
	}
}

func (b *board) changesOf(name string) []change {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.changes[name])
}

// tell tells all pages. A page that has not read the word before gets this one in its place.
func (b *board) tell(w word) {
	text, err := json.Marshal(w)
	if err != nil {
		return // not seen: it has no value that JSON does not know
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = text
	for page := range b.pages {
		select {
		case <-page:
		default:
		}
		page <- text
	}
}

// look asks for one lock.
func (b *board) look(ctx context.Context, name string) (view.Row, error) {
	ctx, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	since, _ := view.GrantsOf(ctx, b.client)
	rows, err := view.Look(ctx, b.client, []string{name}, since)
	if err != nil {
		return view.Row{}, err
	}
	return rows[0], nil
}

// search finds the locks whose names match, at most so many as are shown, and shows them from now on.
func (b *board) search(ctx context.Context, pattern string) (found int, more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 6*asking) // a million keys take a few seconds
	defer cancel()
	if !strings.ContainsAny(pattern, "*?[") {
		pattern += "*"
	}
	for name, err := range b.client.Locks(ctx, pattern) {
		if err != nil {
			return found, false, err
		}
		if found == maxRows {
			return found, true, nil
		}
		found++
		b.mu.Lock()
		if len(b.searched) < maxSeen {
			b.searched[name] = true
		}
		b.mu.Unlock()
	}
	return found, false, nil
}

// force frees the lock from the holder with that field.
func (b *board) force(ctx context.Context, name, field string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	info, err := b.client.Inspect(ctx, name)
	if err != nil {
		return false, err
	}
	lock := b.client.NewLock(name)
	switch info.Kind {
	case "fair":
		lock = b.client.NewFairLock(name)
	case "read-write":
		lock = b.client.NewReadWriteLock(name).Write()
	}
	return lock.ForceUnlockHolder(ctx, field)
}

package main

import (
	"context"
	"fmt"
	"sync"
)

// store is the resource that the lock protects.
type store interface {
	// Write sets the state of an order, for the holder with that token. A StaleError says
	// that another one has come after that holder, and nothing was written.
	Write(ctx context.Context, order, state string, token int64) error
}

// StaleError is the error of a write by somebody who holds the lock no longer.
type StaleError struct{ Token, Seen int64 }

func (e *StaleError) Error() string {
	return fmt.Sprintf("refused: token %d is older than %d", e.Token, e.Seen)
}

// memory is a store in this process. In a database the same is one statement, atomic by
// itself; with no row affected the token was too old (or there is no such order):
//
//	UPDATE orders SET state = $state, fence = $token WHERE id = $order AND fence <= $token
//
// The lower bound is <=, not <: a holder may write more than once, and nested holds have
// the same token.
type memory struct {
	unfenced bool // takes every write, as a store without the condition does

	mu   sync.Mutex
	rows map[string]row // guarded by mu
}

type row struct {
	state string
	fence int64 // the highest token seen
}

// Write implements store.
func (m *memory) Write(_ context.Context, order, state string, token int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := m.rows[order].fence
	if token < seen && !m.unfenced {
		return &StaleError{Token: token, Seen: seen}
	}
	if m.rows == nil {
		m.rows = make(map[string]row)
	}
	m.rows[order] = row{state: state, fence: max(token, seen)}
	return nil
}

// state is what an order's is.
func (m *memory) state(order string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rows[order].state
}

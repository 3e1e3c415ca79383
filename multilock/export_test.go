package multilock

import "github.com/redlatch/redlatch/reentrant"

// FirstOf is the name of the member that comes first in the canonical order.
func FirstOf(l *MultiLock) string { return l.members[0].Name() }

// CoverOf is what the ctx of a hold carries.
func CoverOf(h *Hold) reentrant.Cover { return cover{h} }

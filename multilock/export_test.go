package multilock

import "github.com/redlatch/redlatch/internal/multi"

// FirstOf is the name of the member that comes first in the canonical order.
func FirstOf(l *MultiLock) string { return l.members[0].Name() }

// CoverOf is what the ctx of a hold carries.
func CoverOf(h *Hold) multi.Cover { return cover{h: h} }

package demo

import "github.com/redlatch/redlatch/internal/child"

// CanPause says that Pause stops a process here. Elsewhere it fails.
const CanPause = child.CanStop

// Pause stops the child (SIGSTOP): it keeps its memory and its connections and does
// nothing, as on a machine that hangs.
func (p *Process) Pause() error { return p.process.Stop() }

// Continue lets a stopped child go on.
func (p *Process) Continue() error { return p.process.Continue() }

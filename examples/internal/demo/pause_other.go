//go:build !unix

package demo

import "errors"

// CanPause says that there is no way to stop a process here.
const CanPause = false

// Pause returns errors.ErrUnsupported.
func (p *Process) Pause() error { return errors.ErrUnsupported }

// Continue returns errors.ErrUnsupported.
func (p *Process) Continue() error { return errors.ErrUnsupported }

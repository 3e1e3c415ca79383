//go:build !unix

package child

import "errors"

// CanStop says that Stop does not stop a child.
const CanStop = false

// Stop fails: only Unix can stop a process.
func (c *Child) Stop() error { return errors.ErrUnsupported }

// Continue fails: only Unix can stop a process.
func (c *Child) Continue() error { return errors.ErrUnsupported }

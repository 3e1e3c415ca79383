//go:build unix

package peer

import (
	"context"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

var rueidislockPeer = Peer{
	Name:     "rueidislock",
	Settings: "as its README says for one Redis: KeyMajority 1, NoLoopTracking; lease 5 s, renewed",
	Open:     openRueidislock,
}

type rueidislockClient struct{ locker rueidislock.Locker }

func openRueidislock(addr string) (Client, error) {
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption:   rueidis.ClientOption{InitAddress: []string{addr}},
		KeyMajority:    1,
		NoLoopTracking: true,
	})
	return rueidislockClient{locker}, err
}

func (c rueidislockClient) Lock(name string) Lock {
	return &rueidisLock{locker: c.locker, name: name}
}

func (c rueidislockClient) Close() error {
	c.locker.Close()
	return nil
}

type rueidisLock struct {
	locker  rueidislock.Locker
	name    string
	release context.CancelFunc
}

func (l *rueidisLock) Acquire(ctx context.Context) (err error) {
	_, l.release, err = l.locker.WithContext(ctx, l.name)
	return err
}

// Release returns when the key is deleted.
func (l *rueidisLock) Release(context.Context) error {
	l.release()
	return nil
}

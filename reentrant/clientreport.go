package reentrant

import (
	"context"
	"encoding/json"
	"runtime/debug"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/lua"
)

const (
	// maxOldest is how many holds a Client reports.
	maxOldest = 20
	// indexKept is how long the index keeps a Client that was killed, by the clock of the machine that writes next. It
	// is far above the difference between two clocks.
	indexKept = time.Hour
)

// ClientReport is what a Client with a name ([WithClientName]) says of itself.
type ClientReport struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`              // "billing@web-3:411"
	Version string    `json:"version,omitempty"` // of Redlatch, as its program was built: "v1.4.0", "(devel)"
	Since   time.Time `json:"since"`             // when the Client was made, by its machine's clock
	At      time.Time `json:"at"`                // when it wrote this

	Held          int    `json:"held"` // this and what follows: as in [Stats]
	Waiting       int    `json:"waiting"`
	Acquired      uint64 `json:"acquired"`
	Losses        uint64 `json:"losses"`
	RenewFailures uint64 `json:"renew_failures"`

	// Oldest are the holds that it has had for longest, 20 at most.
	Oldest []ReportedHold `json:"oldest,omitempty"`
}

// ReportedHold is one lock that a Client holds.
type ReportedHold struct {
	Name  string    `json:"name"` // without the prefix
	Field string    `json:"field"`
	Since time.Time `json:"since"` // the grant, by the machine's clock of the Client
}

// Clients returns the reports of the Clients with a name and the same prefix, the oldest Client first. A Client reports every
// 20 s while it holds locks or takes them; after its last report, or its death, it is here for a minute. A report is hearsay:
// any Redis user with a right to such keys can write one. Reports that cannot be read are left out.
//
// It reads one sorted set and one key for each Client, for which the Redis user needs what WithClientName needs. The error
// is ctx's, [ErrClosed], [ErrPermission], or an error of Redis.
func (c *Client) Clients(ctx context.Context) ([]ClientReport, error) {
	all, err := ofNode(ctx, c, &node{c.rdb, c.address}, c.readReports)
	slices.SortFunc(all, func(a, b ClientReport) int { return a.Since.Compare(b.Since) })
	return all, err
}

func (c *Client) readReports(ctx context.Context) (all []ClientReport, err error) {
	ids, err := c.rdb.ZRange(ctx, lua.ClientKey(c.cfg.prefix, ""), 0, -1).Result()
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	pipe := c.pipeline()
	texts := make([]*redis.StringCmd, len(ids))
	for i, id := range ids {
		texts[i] = pipe.Get(ctx, reportKey(c.cfg.prefix, id))
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	for i, id := range ids {
		var r ClientReport
		if json.Unmarshal([]byte(texts[i].Val()), &r) == nil && r.ID == id && r.readable() {
			all = append(all, r)
		}
	}
	return all, nil
}

// readable reports whether a report can be shown as it is.
func (r *ClientReport) readable() bool {
	for _, h := range r.Oldest {
		if checkName("", h.Name) != nil || !readable(h.Field) {
			return false
		}
	}
	return readable(r.ID) && readable(r.Name) && (r.Version == "" || readable(r.Version))
}

func reportKey(prefix, id string) string { return lua.ClientKey(prefix, id) + ":report" }

// report is what this Client says of itself.
func (c *Client) report() ClientReport {
	s := c.Stats()
	return ClientReport{
		ID: c.id, Name: c.nameRecord.name(), Version: version(), Since: c.nameRecord.began.UTC(), At: time.Now().UTC(),
		Held: s.Held, Waiting: s.Waiting, Acquired: s.Acquired, Losses: s.Losses, RenewFailures: s.RenewFailures,
		Oldest: c.oldest(),
	}
}

// oldest are the holds that the Client has had for longest. It looks at all: 100,000 take some 10 ms of a processor, of which
// the Client's calls wait for one or two.
func (c *Client) oldest() (all []ReportedHold) {
	for _, s := range c.statesNow() {
		s.mu.Lock()
		for _, o := range s.state.Owners() {
			if own := ownershipOf(o); !own.live() {
				continue
			}
			field, _ := o.Lease().Field()
			all = append(all, ReportedHold{Name: s.name, Field: field, Since: o.Since().UTC()})
		}
		s.mu.Unlock()
		if len(all) > 64*maxOldest {
			all = oldestOf(all)
		}
	}
	return oldestOf(all)
}

func oldestOf(all []ReportedHold) []ReportedHold {
	slices.SortFunc(all, func(a, b ReportedHold) int { return a.Since.Compare(b.Since) })
	return all[:min(len(all), maxOldest)]
}

// statesNow are the lock states that there are now.
func (c *Client) statesNow() (all []*lockState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, kind := range c.states {
		for _, s := range kind {
			all = append(all, s)
		}
	}
	return all
}

// writeReport writes the Client's name, its report, and its place in the index, in one pipeline. A failure costs the name at
// worst, and the next period tries again. The error is the name's.
func (c *Client) writeReport(ctx context.Context) error {
	text, err := json.Marshal(c.report())
	if err != nil {
		return err // not seen: it has no value that JSON does not know
	}
	now, index := time.Now(), lua.ClientKey(c.cfg.prefix, "")
	pipe := c.pipeline()
	name := pipe.Set(ctx, c.nameRecord.key, c.nameRecord.value, cardTTL)
	pipe.Set(ctx, reportKey(c.cfg.prefix, c.id), text, cardTTL)
	pipe.ZAdd(ctx, index, redis.Z{Score: float64(now.UnixMilli()), Member: c.id})
	pipe.PExpire(ctx, index, indexKept)
	last := pipe.ZRangeWithScores(ctx, index, 0, 7) // those that have written longest ago
	_, _ = pipe.Exec(ctx)
	var dead []any
	for _, z := range last.Val() {
		if int64(z.Score) < now.Add(-indexKept).UnixMilli() {
			dead = append(dead, z.Member)
		}
	}
	if len(dead) > 0 {
		_ = c.plain.Process(ctx, redis.NewIntCmd(ctx, append([]any{"zrem", index}, dead...)...))
	}
	return name.Err()
}

// deleteReport deletes the name and the report.
func (c *Client) deleteReport(ctx context.Context) {
	pipe := c.pipeline()
	pipe.Del(ctx, c.nameRecord.key)
	pipe.Del(ctx, reportKey(c.cfg.prefix, c.id))
	pipe.ZRem(ctx, lua.ClientKey(c.cfg.prefix, ""), c.id)
	_, _ = pipe.Exec(ctx) // or they expire
}

// version is the version of Redlatch in this program.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	const path = "github.com/redlatch/redlatch"
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == path {
			if m.Replace != nil {
				return m.Replace.Version
			}
			return m.Version
		}
	}
	return ""
}

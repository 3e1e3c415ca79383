package hourly_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/examples/hourlyjob/hourly"
)

// Ticks come a little before or after the full hour, and nodes are in different time
// zones.
func TestHour(t *testing.T) {
	t.Parallel()
	half := time.FixedZone("half an hour off", int((5*time.Hour + 30*time.Minute).Seconds()))
	for tick, hour := range map[time.Time]time.Time{
		three:                        three,
		three.Add(-30 * time.Second): three,
		three.Add(-30*time.Second - time.Nanosecond): three.Add(-time.Hour),
		three.Add(59*time.Minute + 29*time.Second):   three,
		three.In(half).Add(-time.Millisecond):        three,
		three.In(half).Add(time.Hour - time.Minute):  three,
		three.Add(-15 * time.Hour).Add(-time.Second): three.Add(-15 * time.Hour), // midnight
		three.Add(-15 * time.Hour).Add(-time.Minute): three.Add(-16 * time.Hour),
	} {
		if got := hourly.Of(tick); !got.Equal(hour) || got.Location() != time.UTC {
			t.Errorf("the tick at %v is for %v, want %v", tick, got, hour)
		}
	}
}

// Two nodes whose clocks disagree do the hour once between them: the tick of one comes
// early, and that of the other comes when the hour has long been done.
func TestHourBorder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNodes(t, 2)
		want(t, hourly.Ran, nil)(n.job(0, works).Run(t.Context(), hourly.Of(three.Add(-time.Second))))
		want(t, hourly.Done, nil)(n.job(1, fails(t)).Run(t.Context(), hourly.Of(three.Add(time.Second))))
		time.Sleep(time.Hour + 59*time.Minute)
		want(t, hourly.Done, nil)(n.job(1, fails(t)).Run(t.Context(), hourly.Of(three.Add(time.Second))))
	})
}

package oracle_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/history"
	"github.com/redlatch/redlatch/internal/oracle"
)

// The picture has what happened in its time and nothing that came later.
func TestPicture(t *testing.T) {
	t.Parallel()
	s := &story{}
	for i := range 200 {
		at := float64(10 * (i + 1))
		s.hold(fmt.Sprintf("owner-%d", i), at, at+5, int64(i+1))
	}
	s.fault("the one to see", 1000, 1010, outlasts)
	scene := oracle.Busiest(s.h, 20)
	if scene.Lock != "l" || scene.From > ms(1010) || scene.Until < ms(1000) || scene.Until.Sub(scene.From) > time.Second {
		t.Fatalf("picked %+v, which is not where the fault was", scene)
	}
	var page bytes.Buffer
	if err := oracle.Picture(&page, s.h, scene, nil); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"the one to see": true, "owner-99 takes it": true, "owner-3 takes it": false, "owner-180 takes it": false} {
		if strings.Contains(page.String(), text) != want {
			t.Errorf("%q in the picture: %v, want %v", text, !want, want)
		}
	}
}

// What cannot be explained is drawn as well, as far as it can.
func TestPictureOfWhatIsRefused(t *testing.T) {
	t.Parallel()
	s := &story{}
	s.hold("a", 10, 20, 1)
	s.hold("b", 15, 25, 2)
	var page bytes.Buffer
	if err := oracle.Picture(&page, s.h, oracle.Scene{Lock: "l", Until: history.Never / 2}, nil); err != nil || page.Len() == 0 {
		t.Errorf("%d bytes, %v", page.Len(), err)
	}
}

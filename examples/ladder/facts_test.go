package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestVerdictsDiffer gives the judges recordings in which the opposite happens.
func TestVerdictsDiffer(t *testing.T) {
	t.Parallel()
	at := func(ms int) time.Duration { return time.Duration(ms) * time.Millisecond }
	gone := []*track{{server: "redis", looks: []look{{at: 0, holder: "anna", ttl: at(300)}, {at: at(300), holder: ""}}}}
	apart := []section{{"anna", at(0), at(100)}, {"bert", at(300), at(400)}}
	overlapping := []section{{"anna", at(0), at(350)}, {"bert", at(300), at(400)}}
	for name, test := range map[string]struct {
		judge func(*recording) verdict
		rec   *recording
		want  string
		says  string
	}{
		"crash, and the key expires": {judgeExpiry, &recording{tracks: gone, sections: apart}, "", "gone 300 ms after"},
		"crash, and the key stays": {judgeExpiry, &recording{
			tracks: []*track{{looks: []look{{holder: "anna", ttl: at(300)}, {at: at(300), holder: "anna", ttl: at(1)}}}},
		}, "still held", ""},
		"crash, and no key":          {judgeExpiry, &recording{tracks: []*track{{}}}, "not seen", ""},
		"a DEL that comes first":     {judgeThefts, &recording{sections: apart, events: []event{{who: "anna", effect: took}, {at: at(100), who: "anna", effect: removed}}}, "", "never two"},
		"two at once by another way": {judgeThefts, &recording{sections: overlapping}, twoAtOnce, "anna and bert were both inside from 300 to 350 ms"},
		"work that ends in time":     {judgeOverlap, &recording{tracks: gone, sections: apart}, "", "200 ms after she had left"},
		"bert is never served":       {judgeOverlap, &recording{tracks: gone, sections: apart[:1]}, "not served", ""},
		"a wait for another":         {judgeNesting, &recording{tracks: []*track{{looks: []look{{holder: "carl", ttl: 1}}}}}, "not served", ""},
		"a failover that is seen":    {judgeFailover, &recording{sections: overlapping, facts: map[string]int{"told": 1}}, twoAtOnce, "50 ms, until anna was told."},
		"a failover without effect":  {judgeFailover, &recording{sections: apart}, "", "Never two at once"},
		"nobody after a failover":    {judgeFailover, &recording{sections: apart[:1]}, "not served", ""},
		"a wait without polls": {judgeWaiting, &recording{
			sections: apart, facts: map[string]int{"commands": 5, "messages": 1}, events: []event{{at: at(290), who: "anna", what: "lets go"}},
		}, "", "10 ms after anna had let go"},
	} {
		test.rec.owner = map[string]string{"settle": "anna"}
		v := test.judge(test.rec)
		if v.failure != test.want || !strings.Contains(v.text, test.says) {
			t.Errorf("%s: got %q, want %q and a text with %q", name, v, test.want, test.says)
		}
	}
}

// TestCounter feeds a pipeline, cut at every place.
func TestCounter(t *testing.T) {
	t.Parallel()
	const sent = "*1\r\n$4\r\nPING\r\n*3\r\n$3\r\nset\r\n$3\r\na\r\n\r\n$1\r\n*\r\n*2\r\n$7\r\nEVALSHA\r\n$0\r\n\r\n"
	for cut := range len(sent) + 1 {
		var c counter
		got := append(c.feed([]byte(sent[:cut])), c.feed([]byte(sent[cut:]))...)
		if want := []string{"ping", "set", "evalsha"}; !slices.Equal(got, want) {
			t.Errorf("cut at %d: got %q, want %q", cut, got, want)
		}
	}
}

package browsertests

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/redlatchui"
)

var pictures = flag.String("pictures", "", "write the documents' pictures of the page into this `directory`")

// largest is what a picture may take, in bytes: it is on the front page.
const largest = 150_000

// The page in both colours, with all kinds of locks. With -pictures it is written for the documents.
func TestPictures(t *testing.T) {
	s := redistest.Start(t)
	g := &stage{t: t, s: s, page: newClient(t, s)}
	g.set()
	page := newTab(t, serve(t, g.page, redlatchui.Options{Write: true}), chromedp.EmulateViewport(1240, 505, chromedp.EmulateScale(1.5)))
	page.rowSays("order:42", "billing@web-3:411", "checkout")
	page.rowSays("deploy", "deploy@ci-2:1187", "3 min")
	page.rowSays("label-printer", "fair", "3")
	page.rowSays("price-table", "reading", "2 more")
	page.rowSays("invoice:2031", "Java")
	for _, scheme := range []string{"light", "dark"} {
		page.do(colours(scheme))
		page.is("matchMedia('(prefers-color-scheme: %s)').matches", scheme)
		g.renewed(page)
		page.picture("page-" + scheme + ".png")
	}
}

func colours(scheme string) step {
	return func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return chromedp.Void{}, err
	}
}

// picture takes a picture of what is in the window.
func (b *tab) picture(name string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, soon)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	must(b.t, err)
	if len(png) < 10_000 || len(png) > largest {
		b.t.Errorf("%s has %d bytes", name, len(png))
	}
	if *pictures != "" {
		must(b.t, os.WriteFile(filepath.Join(*pictures, name), png, 0o644))
	}
}

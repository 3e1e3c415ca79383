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
	"github.com/redlatch/redlatch/reentrant"
)

var pictures = flag.String("pictures", "", "write the documents' pictures of the page into this `directory`")

// The page in both colours, of some locks as a shop has them. With -pictures it is written for the documents.
func TestPictures(t *testing.T) {
	s := redistest.Start(t)
	shop(t, s)
	page := newTab(t, serve(t, newClient(t, s), redlatchui.Options{Write: true}), chromedp.EmulateViewport(1400, 540, chromedp.EmulateScale(1.4)))
	for _, lock := range []string{"order:42", "report:15:00", "deploy:shop", "counter", "prices", "invoices"} {
		page.is(row(lock))
	}
	for _, scheme := range []string{"light", "dark"} {
		page.do(colours(scheme))
		page.is("matchMedia('(prefers-color-scheme: %s)').matches", scheme)
		ctx, cancel := context.WithTimeout(page.ctx, soon)
		picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
		cancel()
		must(t, err)
		if len(picture) < 10_000 {
			t.Errorf("%d bytes", len(picture))
		}
		if *pictures != "" {
			must(t, os.WriteFile(filepath.Join(*pictures, "page-"+scheme+".png"), picture, 0o644))
		}
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

// shop has the locks of a shop: held, waited for, read and written, by Go and by Java.
func shop(t *testing.T, s *redistest.Server) {
	t.Helper()
	billing, ci, tills := newClient(t, s, reentrant.WithClientName("billing")), newClient(t, s, reentrant.WithClientName("ci")), newClient(t, s, reentrant.WithClientName("tills"))
	order := billing.NewLock("order:42", reentrant.WithFencing())
	must(t, order.Lock(owner(t, "job-7")))
	must(t, order.Lock(owner(t, "job-7")))
	must(t, billing.NewLock("report:15:00", reentrant.WithFencing()).Lock(owner(t, "cron")))
	must(t, ci.NewLock("deploy:shop").Lock(owner(t, "pipe-311")))
	must(t, tills.NewFairLock("counter").Lock(owner(t, "till-1")))
	for _, who := range []string{"till-2", "till-3"} {
		must(t, tills.NewReadWriteLock("prices").RLock(owner(t, who)))
	}
	javaHolds(t, s, "invoices")
	waits(t, s, tills.NewLock("order:42"), "refund", registered(t, s, "order:42", 1))
	waits(t, s, newClient(t, s, reentrant.WithClientName("ci")).NewLock("deploy:shop"), "pipe-312", registered(t, s, "deploy:shop", 1))
	waits(t, s, billing.NewLock("invoices"), "monthly", registered(t, s, "invoices", 1))
	for i, who := range []string{"till-4", "till-5", "till-6"} {
		waits(t, s, tills.NewFairLock("counter"), who, inLine(t, s, "counter", int64(i+1)))
	}
	redistest.Eventually(t, soon, "the reports", func() bool {
		all, err := billing.Clients(t.Context())
		held := 0
		for _, c := range all {
			held += c.Held
		}
		return err == nil && held >= 5
	})
}

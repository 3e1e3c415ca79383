package redisio

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petermattis/goid"
)

// inWorkers runs f in a bubble, and ends the Workers' goroutines after it.
func inWorkers(t *testing.T, f func(t *testing.T, w *Workers, end context.CancelFunc)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		w := NewWorkers(ctx)
		defer w.Wait()
		defer end()
		f(t, w, end)
	})
}

// ranOn runs something that ends at once, and returns the ID of its goroutine.
func ranOn(w *Workers) int64 {
	ran := make(chan int64, 1)
	w.Run(func() { ran <- goid.Get() })
	id := <-ran
	synctest.Wait() // the goroutine waits for more, or has ended
	return id
}

// The caller of Run may leave: it does not wait for what it runs. Wait does.
func TestWorkersCallerLeaves(t *testing.T) {
	for what, run := range map[string]func(*Workers, func()){"Run": (*Workers).Run, "Go": (*Workers).Go} {
		t.Run(what, func(t *testing.T) {
			inWorkers(t, func(t *testing.T, w *Workers, end context.CancelFunc) {
				began := time.Now()
				run(w, func() { time.Sleep(time.Minute) })
				if left := time.Since(began); left != 0 {
					t.Errorf("the caller left after %v", left)
				}
				end() // does not end what runs
				w.Wait()
				if waited := time.Since(began); waited != time.Minute {
					t.Errorf("Wait took %v", waited)
				}
			})
		})
	}
}

// A goroutine is kept for the next command for a second, counted from the end of the last one.
func TestWorkersKeepAGoroutine(t *testing.T) {
	inWorkers(t, func(t *testing.T, w *Workers, _ context.CancelFunc) {
		first := ranOn(w)
		for range 3 {
			time.Sleep(idleFor - time.Nanosecond)
			if ranOn(w) != first {
				t.Fatal("another goroutine within the time for which the first is kept")
			}
		}
		time.Sleep(idleFor)
		synctest.Wait()
		if n := w.idle.Load(); n != 0 {
			t.Fatalf("%d goroutines wait after that time", n)
		}
		if ranOn(w) == first {
			t.Error("a goroutine that has ended ran something")
		}
	})
}

// Without the end of ctx, Wait waits for the goroutines that are kept. With it none is kept.
func TestWorkersEndOfCtx(t *testing.T) {
	inWorkers(t, func(t *testing.T, w *Workers, end context.CancelFunc) {
		ranOn(w)
		began := time.Now()
		w.Wait()
		if waited := time.Since(began); waited != idleFor {
			t.Errorf("Wait took %v for one that is kept", waited)
		}

		ranOn(w)
		began = time.Now()
		end()
		w.Wait()
		ranOn(w) // runs all the same
		w.Wait()
		if waited := time.Since(began); waited != 0 {
			t.Errorf("after the end of ctx Wait took %v", waited)
		}
	})
}

// What runs at the same time has a goroutine each. Not more than maxIdle of these are kept.
func TestWorkersKeepNoMore(t *testing.T) {
	inWorkers(t, func(t *testing.T, w *Workers, _ context.CancelFunc) {
		const many = 2*maxIdle + 3
		together := func() (ids []int64) {
			var mu sync.Mutex
			release := make(chan struct{})
			for range many {
				w.Run(func() {
					mu.Lock()
					ids = append(ids, goid.Get())
					mu.Unlock()
					<-release
				})
			}
			synctest.Wait()
			close(release)
			synctest.Wait()
			slices.Sort(ids)
			return slices.Compact(ids)
		}
		first := together()
		if len(first) != many {
			t.Fatalf("%d goroutines for %d that run at the same time", len(first), many)
		}
		if n := w.idle.Load(); n != maxIdle {
			t.Errorf("%d goroutines are kept", n)
		}
		again := 0
		for _, id := range together() {
			if slices.Contains(first, id) {
				again++
			}
		}
		if again != maxIdle {
			t.Errorf("%d goroutines ran something again", again)
		}
	})
}

// The goroutine of Go is kept for nothing.
func TestWorkersGo(t *testing.T) {
	inWorkers(t, func(t *testing.T, w *Workers, _ context.CancelFunc) {
		began := time.Now()
		ids := make(chan int64, 1)
		w.Go(func() { ids <- goid.Get() })
		w.Wait()
		if waited := time.Since(began); waited != 0 {
			t.Errorf("Wait took %v", waited)
		}
		if ranOn(w) == <-ids {
			t.Error("the goroutine ran something else")
		}
	})
}

// runtime.Goexit in what runs ends its goroutine, kept ones included, and nothing else.
func TestWorkersGoexit(t *testing.T) {
	inWorkers(t, func(t *testing.T, w *Workers, end context.CancelFunc) {
		for range maxIdle + 1 {
			kept := ranOn(w)
			exited := make(chan int64, 1)
			w.Run(func() {
				exited <- goid.Get()
				runtime.Goexit()
			})
			if id := <-exited; id != kept {
				t.Fatal("the goroutine that was kept did not run it")
			}
			synctest.Wait()
			if n := w.idle.Load(); n != 0 {
				t.Fatalf("%d goroutines are kept", n)
			}
		}
		w.Go(runtime.Goexit)
		end()
		w.Wait()
	})
}

// Nobody recovers a panic in what runs: it ends the program, and its text is seen.
func TestWorkersPanic(t *testing.T) {
	const run = "REDLATCH_WORKERS_PANIC"
	boom := func() { panic("boom in a worker") }
	switch os.Getenv(run) {
	case "Run":
		NewWorkers(t.Context()).Run(boom)
		select {}
	case "Go":
		NewWorkers(t.Context()).Go(boom)
		select {}
	}
	for _, how := range []string{"Run", "Go"} {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWorkersPanic$", "-test.timeout=1m")
		child.Env = append(os.Environ(), run+"="+how)
		out, err := child.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "panic: boom in a worker") {
			t.Errorf("%s: the program ended with %v:\n%s", how, err, out)
		}
	}
}

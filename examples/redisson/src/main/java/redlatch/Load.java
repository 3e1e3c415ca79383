package redlatch;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import org.redisson.api.RBucket;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;

/**
 * Threads that take a lock again and again, as an application's would: with lock() and unlock().
 * The result is the list of all turns, {@code thread:began:got:left}, the last three in
 * microseconds since 1970: when the thread asked for the lock, had it, and began to give it back.
 */
final class Load {
    private final RedissonClient client;

    Load(RedissonClient client) {
        this.client = client;
    }

    /** Raises a number in Redis by one at each turn, with a GET and a SET that only the lock protects. */
    CompletableFuture<String> countUp(RLock lock, int threads, long holdMillis, long rounds, String key) {
        RBucket<String> number = client.getBucket(key, StringCodec.INSTANCE);
        return all(threads, () -> {
            long[] left = {rounds};
            return turns(lock, () -> left[0]-- > 0, () -> {
                String before = number.get();
                TimeUnit.MILLISECONDS.sleep(holdMillis);
                number.set(String.valueOf(Long.parseLong(before) + 1));
            });
        });
    }

    /** Takes turns until the time is over. Whoever waits then still gets its turn. */
    CompletableFuture<String> takeTurns(RLock lock, int threads, long holdMillis, long durationMillis) {
        long end = now() + durationMillis * 1000;
        return all(threads, () -> turns(lock, () -> now() < end, () -> TimeUnit.MILLISECONDS.sleep(holdMillis)));
    }

    private interface Work {
        void run() throws Exception;
    }

    private interface Worker {
        List<String> run() throws Exception;
    }

    private static List<String> turns(RLock lock, BooleanSupplier again, Work work) throws Exception {
        List<String> turns = new ArrayList<>();
        while (again.getAsBoolean()) {
            long began = now();
            lock.lock();
            long got = now();
            work.run();
            long left = now();
            lock.unlock();
            turns.add(Thread.currentThread().getId() + ":" + began + ":" + got + ":" + left);
        }
        return turns;
    }

    private static CompletableFuture<String> all(int threads, Worker worker) {
        List<CompletableFuture<List<String>>> results = new ArrayList<>();
        for (int i = 1; i <= threads; i++) {
            results.add(OwnerThread.call(i, worker::run));
        }
        return CompletableFuture.allOf(results.toArray(CompletableFuture[]::new))
                .thenApply(done -> results.stream()
                        .flatMap(result -> result.join().stream())
                        .collect(Collectors.joining(",")));
    }

    private static long now() {
        return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
    }
}

package redlatch;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/**
 * The commands. Times are in milliseconds; a lease of -1, or none, is renewed by the watchdog.
 *
 * <pre>
 * lock       name owner [lease]       waits
 * block      name owner [lease]       the same, by the call that blocks a thread
 * tryLock    name owner wait lease    true or false
 * unlock     name owner
 * held       name owner
 * count      name owner               hold count
 * forceUnlock, isLocked, ttl  name
 * token      name                     fenced: the counter as it stands, or null
 * lockToken  name owner [lease]       fenced: waits; the new token
 * tryToken   name owner wait lease    fenced: the new token, or null
 * count-up   name threads hold rounds key
 * take-turns name threads hold duration
 * </pre>
 */
final class Commands {
    private final Locks locks;
    private final Load load;

    /** One client for each server. The first is the one that everything but a joined lock is for. */
    Commands(List<RedissonClient> clients) {
        locks = new Locks(clients);
        load = new Load(clients.get(0));
    }

    CompletionStage<?> run(Request r) {
        try {
            return begin(r);
        } catch (RuntimeException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    private CompletionStage<?> begin(Request r) {
        RLock lock = locks.get(r.kind(), r.name());
        return switch (r.command()) {
            case "lock" -> lock.lockAsync(r.numberOr(2), MILLISECONDS, r.number(1));
            case "block" -> OwnerThread.call(r.number(1), () -> block(lock, r.numberOr(2)));
            case "tryLock" -> lock.tryLockAsync(r.numberOr(2), r.numberOr(3), MILLISECONDS, r.number(1));
            case "unlock" -> lock.unlockAsync(r.number(1));
            case "forceUnlock" -> lock.forceUnlockAsync();
            case "held" -> lock.isHeldByThreadAsync(r.number(1));
            case "count" -> OwnerThread.call(r.number(1), lock::getHoldCount);
            case "isLocked" -> lock.isLockedAsync();
            case "ttl" -> lock.remainTimeToLiveAsync();
            case "token" -> locks.fenced(r.name()).getTokenAsync();
            case "lockToken" -> OwnerThread.call(
                    r.number(1), () -> lockToken(locks.fenced(r.name()), r.numberOr(2)));
            case "tryToken" -> OwnerThread.call(
                    r.number(1),
                    () -> locks.fenced(r.name()).tryLockAndGetToken(r.number(2), r.number(3), MILLISECONDS));
            case "count-up" -> load.countUp(
                    lock, (int) r.number(1), r.number(2), r.number(3), r.arguments().get(4));
            case "take-turns" -> load.takeTurns(lock, (int) r.number(1), r.number(2), r.number(3));
            default -> throw new IllegalArgumentException("no command " + r.command());
        };
    }

    private static Void block(RLock lock, long lease) {
        lock.lock(lease, MILLISECONDS);
        return null;
    }

    private static Long lockToken(RFencedLock lock, long lease) {
        return lease > 0 ? lock.lockAndGetToken(lease, MILLISECONDS) : lock.lockAndGetToken();
    }
}

package redlatch;

import java.util.Set;
import java.util.stream.Stream;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** Redisson's kinds of locks by a word each. */
final class Locks {
    static final Set<String> KINDS = Set.of("plain", "fenced", "fair", "read", "write", "multi");

    private final RedissonClient client;

    Locks(RedissonClient client) {
        this.client = client;
    }

    /** Always a new object: an RLock remembers the lease of whoever used it last. */
    RLock get(String kind, String name) {
        return switch (kind) {
            case "plain" -> client.getLock(name);
            case "fenced" -> fenced(name);
            case "fair" -> client.getFairLock(name);
            case "read" -> client.getReadWriteLock(name).readLock();
            case "write" -> client.getReadWriteLock(name).writeLock();
            case "multi" -> client.getMultiLock(
                    Stream.of(name.split(",")).map(client::getLock).toArray(RLock[]::new));
            default -> throw new IllegalArgumentException("no kind of lock: " + kind);
        };
    }

    RFencedLock fenced(String name) {
        return client.getFencedLock(name);
    }
}

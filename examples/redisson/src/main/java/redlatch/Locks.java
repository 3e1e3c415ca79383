package redlatch;

import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.redisson.RedissonRedLock;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** Redisson's kinds of locks by a word each. */
final class Locks {
    static final Set<String> KINDS = Set.of("plain", "fenced", "fair", "read", "write", "multi", "joined", "red");

    private final List<RedissonClient> clients;
    private final RedissonClient client;

    Locks(List<RedissonClient> clients) {
        this.clients = clients;
        this.client = clients.get(0);
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
            // The name on every server.
            case "joined" -> client.getMultiLock(everywhere(name));
            case "red" -> new RedissonRedLock(everywhere(name));
            default -> throw new IllegalArgumentException("no kind of lock: " + kind);
        };
    }

    private RLock[] everywhere(String name) {
        return clients.stream().map(each -> each.getLock(name)).toArray(RLock[]::new);
    }

    RFencedLock fenced(String name) {
        return client.getFencedLock(name);
    }
}

package redlatch;

import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;

/**
 * A thread with a chosen id. Redisson's owner is the thread's id; most of its calls exist with
 * the id as an argument, for the others (hold count, fencing tokens, the blocking calls) the
 * thread itself has to be the owner.
 */
final class OwnerThread extends Thread {
    private final long owner;

    private OwnerThread(long owner, Runnable task) {
        super(task, "owner-" + owner);
        this.owner = owner;
        setDaemon(true);
    }

    @Override
    public long getId() {
        return owner;
    }

    static <T> CompletableFuture<T> call(long owner, Callable<T> task) {
        CompletableFuture<T> result = new CompletableFuture<>();
        new OwnerThread(owner, () -> {
            try {
                result.complete(task.call());
            } catch (Throwable e) {
                result.completeExceptionally(e);
            }
        }).start();
        return result;
    }
}

package redlatch;

import java.util.List;

/**
 * One line of input. Before the command there may be the kind of the lock: {@code 7 fair lock
 * order 42}. Without it the lock is Redisson's plain RLock.
 */
record Request(String id, String kind, String command, List<String> arguments) {

    static Request of(String line) {
        List<String> words = List.of(line.trim().split(" +"));
        int command = Locks.KINDS.contains(words.get(1)) ? 2 : 1;
        return new Request(
                words.get(0),
                command == 2 ? words.get(1) : "plain",
                words.get(command),
                words.subList(command + 1, words.size()));
    }

    String name() {
        return arguments.get(0);
    }

    long number(int index) {
        return Long.parseLong(arguments.get(index));
    }

    /** The argument, or -1, which for Redisson is "none": renewed by the watchdog, or no wait. */
    long numberOr(int index) {
        return index < arguments.size() ? number(index) : -1;
    }
}

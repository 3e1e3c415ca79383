package redlatch;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;

/**
 * A Redisson that does what it is told, line by line. It prints {@code READY} and its (first) client's
 * UUID, then answers every line {@code <id> <command> <arguments>} on standard input with
 * {@code <id> ok <result>} or {@code <id> error <exception>}. A command that waits does not keep
 * the next from being read. It ends with its input.
 */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws IOException {
        // Standard output belongs to the answers; warnings go to standard error.
        System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "warn");
        List<RedissonClient> clients =
                Options.of(args).configs().stream().map(Redisson::create).toList();
        Replies replies = new Replies(System.out);
        Commands commands = new Commands(clients);
        replies.line("READY " + clients.get(0).getId());

        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Request request = Request.of(line);
            replies.answer(request.id(), commands.run(request));
        }
        clients.forEach(client -> client.shutdown(0, 1, TimeUnit.SECONDS));
        // Threads that still wait for a lock must not keep the program alive.
        System.exit(0);
    }
}

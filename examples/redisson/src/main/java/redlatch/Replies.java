package redlatch;

import java.io.PrintStream;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;

/** Answers, one line each, from whatever thread a command ends on. */
final class Replies {
    private final PrintStream out;

    Replies(PrintStream out) {
        this.out = out;
    }

    void answer(String id, CompletionStage<?> result) {
        result.whenComplete((value, error) -> line(id + (error == null ? " ok " + value : " error " + text(error))));
    }

    synchronized void line(String text) {
        out.println(text);
        out.flush();
    }

    private static String text(Throwable error) {
        while (error instanceof CompletionException && error.getCause() != null) {
            error = error.getCause();
        }
        return error.toString().replaceAll("\\s+", " ");
    }
}

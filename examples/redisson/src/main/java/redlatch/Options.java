package redlatch;

import java.util.List;
import org.redisson.config.Config;

/**
 * The command line: {@code --redis host:port}, or several separated by commas, and, if not the
 * default, {@code --watchdog ms}.
 */
record Options(List<String> servers, long watchdogMillis) {

    static Options of(String[] args) {
        List<String> servers = List.of();
        long watchdog = 0;
        for (int i = 0; i + 1 < args.length; i += 2) {
            switch (args[i]) {
                case "--redis" -> servers = List.of(args[i + 1].split(","));
                case "--watchdog" -> watchdog = Long.parseLong(args[i + 1]);
                default -> throw new IllegalArgumentException("unknown option " + args[i]);
            }
        }
        if (servers.isEmpty() || args.length % 2 != 0) {
            throw new IllegalArgumentException("usage: --redis host:port[,host:port...] [--watchdog ms]");
        }
        return new Options(servers, watchdog);
    }

    /** One for each server. Redisson's defaults in everything else, since that is what people run. */
    List<Config> configs() {
        return servers.stream().map(this::config).toList();
    }

    private Config config(String server) {
        Config config = new Config();
        config.useSingleServer().setAddress("redis://" + server);
        if (watchdogMillis > 0) {
            config.setLockWatchdogTimeout(watchdogMillis);
        }
        return config;
    }
}

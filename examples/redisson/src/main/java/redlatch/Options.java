package redlatch;

import org.redisson.config.Config;

/** The command line: {@code --redis host:port} and, if not the default, {@code --watchdog ms}. */
record Options(String redis, long watchdogMillis) {

    static Options of(String[] args) {
        String redis = null;
        long watchdog = 0;
        for (int i = 0; i + 1 < args.length; i += 2) {
            switch (args[i]) {
                case "--redis" -> redis = args[i + 1];
                case "--watchdog" -> watchdog = Long.parseLong(args[i + 1]);
                default -> throw new IllegalArgumentException("unknown option " + args[i]);
            }
        }
        if (redis == null || args.length % 2 != 0) {
            throw new IllegalArgumentException("usage: --redis host:port [--watchdog ms]");
        }
        return new Options(redis, watchdog);
    }

    /** Redisson's defaults in everything else, since that is what people run. */
    Config config() {
        Config config = new Config();
        config.useSingleServer().setAddress("redis://" + redis);
        if (watchdogMillis > 0) {
            config.setLockWatchdogTimeout(watchdogMillis);
        }
        return config;
    }
}

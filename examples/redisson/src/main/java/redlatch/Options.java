package redlatch;

import java.util.List;
import org.redisson.config.Config;
import org.redisson.config.SubscriptionMode;

/**
 * The command line: {@code --redis host:port}, or several separated by commas, each a server by
 * itself; or {@code --cluster host:port,...}, the nodes of one cluster; and, if not the default,
 * {@code --watchdog ms}. With {@code --replica host:port} the server is a master, and the client
 * subscribes at that replica of it: subscriptionMode SLAVE.
 */
record Options(List<String> servers, List<String> nodes, String replica, long watchdogMillis) {

    static Options of(String[] args) {
        List<String> servers = List.of();
        List<String> nodes = List.of();
        String replica = "";
        long watchdog = 0;
        for (int i = 0; i + 1 < args.length; i += 2) {
            switch (args[i]) {
                case "--redis" -> servers = List.of(args[i + 1].split(","));
                case "--cluster" -> nodes = List.of(args[i + 1].split(","));
                case "--replica" -> replica = args[i + 1];
                case "--watchdog" -> watchdog = Long.parseLong(args[i + 1]);
                default -> throw new IllegalArgumentException("unknown option " + args[i]);
            }
        }
        if (servers.isEmpty() == nodes.isEmpty() || args.length % 2 != 0) {
            throw new IllegalArgumentException(
                    "usage: --redis host:port[,host:port...] | --cluster host:port[,host:port...] [--replica host:port] [--watchdog ms]");
        }
        return new Options(servers, nodes, replica, watchdog);
    }

    /**
     * One for each server, or for the cluster. Redisson's defaults in everything else, since that is
     * what people run.
     */
    List<Config> configs() {
        if (!nodes.isEmpty()) {
            Config config = renewed();
            nodes.forEach(node -> config.useClusterServers().addNodeAddress("redis://" + node));
            return List.of(config);
        }
        return servers.stream().map(this::single).toList();
    }

    private Config single(String server) {
        Config config = renewed();
        if (replica.isEmpty()) {
            config.useSingleServer().setAddress("redis://" + server);
        } else {
            config.useMasterSlaveServers()
                    .setMasterAddress("redis://" + server)
                    .addSlaveAddress("redis://" + replica)
                    .setSubscriptionMode(SubscriptionMode.SLAVE);
        }
        return config;
    }

    private Config renewed() {
        Config config = new Config();
        if (watchdogMillis > 0) {
            config.setLockWatchdogTimeout(watchdogMillis);
        }
        return config;
    }
}

import { tortureServer } from '../processes/torture.ts'

// etcd counts in whole seconds.
tortureServer('etcd', { ttl: 1000 })

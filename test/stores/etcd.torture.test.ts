import { describeTorture } from '../processes/describe-torture.ts'

// etcd counts in whole seconds.
describeTorture('etcd', { server: 'etcd', url: ({ address }) => address, ttl: 1000 })

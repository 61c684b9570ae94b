import { describeTorture } from '../processes/describe-torture.ts'

describeTorture('nats', { server: 'nats', url: ({ address }) => address, ttl: 500 })

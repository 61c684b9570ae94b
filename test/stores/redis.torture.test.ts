import { describeTorture } from '../processes/describe-torture.ts'

describeTorture('redis', { server: 'redis', url: ({ address }) => address, ttl: 500, shared: true })

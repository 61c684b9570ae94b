import { describeTorture } from '../processes/describe-torture.ts'

describeTorture('mysql', { server: 'mysql', url: ({ address }) => address, ttl: 500, shared: true })

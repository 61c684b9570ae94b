import { describeTorture } from '../processes/describe-torture.ts'

describeTorture('postgres', { server: 'postgres', url: ({ address }) => address, ttl: 500, shared: true })

import { describeTorture } from '../processes/describe-torture.ts'

describeTorture('sqlite', { url: ({ directory }) => `sqlite:${directory}/leases.db`, ttl: 500, shared: true })

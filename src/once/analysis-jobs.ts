/**
 * The names of an analysis service: collection or table `analyses`, and tasks that are sent to
 * `/internal/tasks/analysis` with `{ "analysisId": "…" }`.
 *
 * @example
 * const once = createOnce(firestoreJobs(firestore, analysisJobs.firestore))
 * const handle = createTaskHandler(once, { ...analysisJobs.tasks, work, authorize })
 */
export const analysisJobs = {
  /** Options of `firestoreJobs`. */
  firestore: { collection: 'analyses' },
  /** Options of `postgresJobs`, `mysqlJobs` and `sqliteJobs`. */
  sql: { table: 'analyses' },
  /** Options of `redisJobs`. */
  redis: { prefix: 'analyses' },
  /** Options of `etcdJobs`. */
  etcd: { prefix: 'analyses/' },
  /** Options of `createTaskHandler`. */
  tasks: {
    path: '/internal/tasks/analysis',
    async idOf(request: Request): Promise<unknown> {
      const { analysisId } = Object(await request.json())
      return analysisId
    },
  },
} as const

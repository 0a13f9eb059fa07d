# Sizes of MPI and I/O messages together (TCD, SIGCOMM'21, section 5.2.2): nine messages in ten are MPI, 2 to 32 KiB, each size half
# as likely as the one before; one is I/O, 512 KiB to 4 MiB, each equally likely. A vertical step is a size of its own.
2048 0
2048 46.451613
4096 46.451613
4096 69.677419
8192 69.677419
8192 81.290323
16384 81.290323
16384 87.096774
32768 87.096774
32768 90
524288 90
524288 92.5
1048576 92.5
1048576 95
2097152 95
2097152 97.5
4194304 97.5
4194304 100

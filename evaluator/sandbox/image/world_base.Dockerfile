# One further base of a suite: the image of a distribution with the suite's packages. ROOT is the image.
ARG ROOT
FROM ${ROOT}
ARG PACKAGES
COPY prepare_world_base.sh /
RUN sh /prepare_world_base.sh
